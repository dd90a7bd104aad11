# An extension as PyTorch's users build it, with PyTorch's own machinery. PYTORCH_NVCC names the compiler.
import os
from torch.utils.cpp_extension import load

os.makedirs("b", exist_ok=True)
load(name="axpy", sources=["axpy.cu"], build_directory="b", extra_cuda_cflags=["-O3"], is_python_module=False)
