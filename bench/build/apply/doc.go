// Package apply measures what gnvcc apply costs where only recipes have changed: every file is built
// with gnvcc, its kernels get a recipe, and apply runs its commands again. The time stands against
// that of the same commands run with nvcc.
//
// Pairs of apply and nvcc take turns, with another recipe in every pair, so that ptxas has real
// work, and with -recipe 'spec{blockDim.x=%d}' the host compiler, too. The first apply stands by
// itself: it keeps what later ones take.
package apply
