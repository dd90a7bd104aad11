// Command accept says which levers the kernels of real programs accept, and why they refuse the
// others: what gnvcc pin -n would say of each, with real nvcc tools and no GPU.
//
//	go run ./accept -gnvcc bin/gnvcc -nvcc /usr/local/cuda/bin/nvcc -program NPB -out npb.jsonl -dir NPB-GPU/CUDA/SP sp.cu -flag -O3
//	go run ./accept -table npb.jsonl
//
// Each argument is a source file, which is compiled by gnvcc, with -c and -flag's, into a store of
// this run's own. Of each kernel that has a loop or more than 200 instructions some recipes of each
// lever are asked for; a lever is accepted where one of them is. -out gets a line a kernel and
// lever: the recipes, the first that was accepted, or each reason with its class (the reason
// without numbers and names, so that reasons can be counted) and the source line. -table counts
// them. programs.sh has the commands for the applications that gnvcc is developed against.
//
//	-program NAME  what distinguishes the lines
//	-dir FOLDER    where the compiler runs
//	-flag FLAG     for the compiler; several times
//	-arch sm_90    nvcc's -arch
//	-kernel TEXT   only kernels whose names hold it
//	-levers LIST   only these, with commas between
//	-each N        of one template only so many kernels a file (default 2); 0: all
//	-j N           at a time (default: the cores)
//	-limit SECONDS for one recipe (default 120); what takes longer is "too slow", and no answer
package main
