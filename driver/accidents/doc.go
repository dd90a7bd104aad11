// Package accidents holds tests only: what a build does when many run at once, when something ends
// its processes, when its store is full, damaged or hostile. Each works on the real nvcc 13.0
// and on the gnvcc binary as users have it, and asks for the same thing: the build's result is
// nvcc's (or the recipe's), gnvcc prints nothing, and no decision that was confirmed is lost.
//
// GNVCC_TESTS=longer does the same for long: 500 translation units, 1000 rounds of kills (several
// processes each), 200 signals; what comes near -timeout stops by itself and says how far it came.
//
// # Untrusted bytes
//
// Every reader of untrusted files has a fuzz target next to it. Run on 2026-11-21, each
// for 185 s or more with -parallel 1 on a machine that did much else; inputs tried, in thousands:
//
//	cache           FuzzSpoolFile FuzzUnseal  spool files, records      343  722
//	driver/toolcmd  FuzzReadLine              nvcc's command lines      314
//	driver/toolcmd  FuzzReadCalls             the tools' command lines  455
//	driver          FuzzMemos                 memos, commands             5
//	policy          FuzzNotebook FuzzDecision                           486  80
//	profile         FuzzFrames                the agent's frames         35
//	profile         FuzzConversation          all that an agent says    133
//	profile         FuzzCubin                 cubins, for the agent     153
//	rewrite         FuzzApply                 PTX and recipes           741
//	rewrite         FuzzRecipe                recipes                   968
//	rewrite/merge   FuzzInto                  two modules               584
//	rewrite/ptx     FuzzParse                 PTX                       219
//	rewrite/source  FuzzRewrite               preprocessed code         285
//	rewrite/stub    FuzzPatch                 host stubs, choices       479
//	sim/cubin       FuzzRead FuzzSpills       cubins, ptxas -v          480  461
//	bench/lab       FuzzRead                  the clock's files         576
//
// Three readers were compared with an oracle on 2026-11-22, each for more than an hour of processor
// time: rewrite/source's layouts with cicc (854,000 structs, 231,000 layouts
// found, 870,000 fields), its lines with cicc's messages (TestFuzzLines: 249,000 texts, 191,000 of
// them rewritten), and rewrite/ptx's control flow with an interpreter (TestFlowFuzz: 1,505,000
// programs, 1.08e9 steps, 894,000 recipes carried out). Layouts and lines: no fault. Control flow:
// five programs whose blocks wait for each other were said to wait for nobody, all mended; and
// ptxas 13.x itself crashes on 9 of 30,000 such programs, which 12.4 takes.
//
// Found: a recipe with a carriage return did not come back as it was printed. By reading while they
// were written: a null in a notebook ended gnvcc tune. Texts made to cost time or stack
// (rewrite/source/hostile_test.go) found names of some megabytes, which overflowed the stack of the
// demangler, and nested loops and declarations without number, which took minutes: all have bounds
// now.
//
// Nobody calls this package.
package accidents
