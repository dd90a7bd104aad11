// Package sass reads NVIDIA's machine code (sm_75 to sm_121) out of cubins: for each 16-byte word
// the operation, its guard, memory space and width, branch target and control field; for each
// function its blocks and loops; and whether two functions compute with the same floating-point
// instructions.
//
// There is no description of these words to cite: the table was made by comparing words with what
// nvdisasm prints of them, and the tests do so again. An operation that the table does not have is
// Unknown and counted, never guessed.
//
// policy, rewrite's tests, driver and cmd may call it; it calls sim/cubin alone and runs no tool.
// Its bytes may come from anywhere: a hostile file costs an error, or wrong facts about itself, and
// time in proportion to its size.
//
// Files: word.go bits and the control field, opcode.go and table.go the operations, inst.go one
// instruction, file.go all functions of a cubin, flow.go blocks and loops, float.go
// and same.go floating-point instructions, wait.go what runs before a wait for another grid.
package sass
