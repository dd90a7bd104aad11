#!/bin/sh
# Makes OUT/include and OUT/lib: links to a toolkit's headers and libraries, and to those of NVIDIA's
# Python packages (nvidia-curand, nvidia-cublas, ...) that it lacks, under the names that linkers
# look for. One folder each is what the applications' build files want to be told.
#
#	libraries.sh TOOLKIT OUT [FOLDER WITH nvidia/...]
set -eu
toolkit=$1 out=$2
test -e "$out/lib/.whole" && exit 0
mkdir -p "$out/include" "$out/lib"

link() { # FOLDER WITH HEADERS, FOLDER WITH LIBRARIES
	for file in "$1"/*; do
		test ! -e "$file" || test -e "$out/include/${file##*/}" || ln -s "$file" "$out/include/"
	done
	for file in "$2"/*.so* "$2"/*.a "$2"/stubs/libcuda.so; do
		test ! -e "$file" || test -e "$out/lib/${file##*/}" || ln -s "$file" "$out/lib/"
	done
}
for sub in . targets/x86_64-linux; do
	link "$toolkit/$sub/include" "$toolkit/$sub/lib64"
	link "$toolkit/$sub/include" "$toolkit/$sub/lib"
done
sites=${3:-$(python3 -c 'import site; print(*site.getsitepackages(), site.getusersitepackages())' || true)}
for site in $sites; do
	for package in "$site"/nvidia/*; do
		link "$package/include" "$package/lib"
	done
done
for file in "$out"/lib/*.so.*; do
	name=${file%%.so.*}.so
	test ! -e "$file" || test -e "$name" || ln -s "${file##*/}" "$name"
done
touch "$out/lib/.whole"
