package source

// Launches that fail where too few blocks are resident at a time: cooperative ones, which need the
// whole grid, and clusters. A kernel that is launched so need not show it, a barrier over the grid
// is one thing that it may do; the host's code shows it.

// together are the names by which host code asks for such launches.
var together = map[string]bool{"cudaLaunchCooperativeKernel": true,
	"cudaLaunchCooperativeKernelMultiDevice": true, "cudaLaunchAttributeCooperative": true,
	"cudaLaunchAttributeClusterDimension": true, "cuLaunchCooperativeKernel": true,
	"cuLaunchCooperativeKernelMultiDevice": true, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE": true,
	"CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION":               true,
	"cudaFuncAttributeNonPortableClusterSizeAllowed":      true,
	"CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": true,
	"cudaLaunchAttributePreferredClusterDimension":        true,
	"CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION":     true}

// Resident gives the name by which the user's text asks for launches that need many blocks to be
// resident at a time, "" where it doesn't. Which kernels it launches so can't be told: names go
// through pointers and templates.
func (u *Unit) Resident() string {
	for i, t := range u.tokens {
		if t.kind == ident && together[u.str(i)] {
			return u.str(i)
		}
	}
	return ""
}
