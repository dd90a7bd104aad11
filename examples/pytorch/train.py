"""Learns 256 centres of noisy signals (k-means) with an extension of three kernels; prints how long that took and
a digest of the centres. Built and tuned by three commands; the last one is to print the same digest, sooner:

    PYTORCH_NVCC=gnvcc python train.py
    PYTORCH_NVCC=gnvcc gnvcc tune --apply -- python train.py
    PYTORCH_NVCC=gnvcc python train.py
"""
import hashlib
import os
import sys
import time

try:
    import torch
    from torch.utils.cpp_extension import load
except ImportError:
    sys.exit("train.py: SKIPPED: PyTorch for CUDA can't be imported (pip install torch ninja)")
if not torch.cuda.is_available():
    sys.exit("train.py: SKIPPED: PyTorch finds no GPU")

here = os.path.dirname(os.path.abspath(__file__))
build = os.path.join(here, "build")
os.makedirs(build, exist_ok=True)
kernels = load("kernels", [os.path.join(here, f) for f in ("extension.cpp", "kernels.cu")], build_directory=build)

torch.manual_seed(1)
signals = torch.randn(16384, 128, device="cuda")
taps = torch.rand(16384, 7, device="cuda")
centres = signals[:256].clone()
for turn in range(50):
    if turn == 5:  # what comes before is warming up
        torch.cuda.synchronize()
        begin = time.time()
    rows = kernels.norm(kernels.depthwise(signals, taps))
    nearest = kernels.cdist(rows, kernels.norm(centres)).argmin(1)
    members = torch.nn.functional.one_hot(nearest, len(centres)).float().t()
    centres = members @ rows / members.sum(1, keepdim=True).clamp(min=1)
torch.cuda.synchronize()
digest = hashlib.sha256(centres.cpu().numpy().tobytes()).hexdigest()[:16]
print(f"train.py: {(time.time() - begin) / 45 * 1000:.3f} ms a turn, centres {digest}")
