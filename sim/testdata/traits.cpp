// The oracle of the table: cuda/__device/arch_traits.h of the 13.5 toolkit. Build: c++ -std=c++17 -I<toolkit>/include/cccl -I<toolkit>/include
#include <cstdio>
#include <cuda/__device/arch_traits.h>

template <cuda::arch_id id> void row(int cc) {
	constexpr auto t = cuda::arch_traits<id>();
	std::printf("%d %d %d %d %d %d %d %d %zu %zu %zu %zu\n", cc, t.max_threads_per_multiprocessor, t.max_warps_per_multiprocessor,
	            t.max_blocks_per_multiprocessor, t.max_registers_per_multiprocessor, t.max_registers_per_block, t.max_registers_per_thread,
	            t.max_threads_per_block, t.max_shared_memory_per_multiprocessor, t.max_shared_memory_per_block,
	            t.max_shared_memory_per_block_optin, t.reserved_shared_memory_per_block);
}

#define ROW(cc) row<cuda::arch_id::sm_##cc>(cc);
int main() {
	ROW(50) ROW(52) ROW(53) ROW(60) ROW(61) ROW(62) ROW(70) ROW(75) ROW(80) ROW(86) ROW(87) ROW(88) ROW(89)
	ROW(90) ROW(100) ROW(103) ROW(110) ROW(120) ROW(121)
}
