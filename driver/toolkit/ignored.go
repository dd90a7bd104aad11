package toolkit

import (
	"fmt"
	"path/filepath"

	"gnvcc/driver/environment"
)

// Ignored says which of the variables CUDA_HOME and CUDA_PATH Find passes by, since they name no
// toolkit. nvcc reads neither, so a build must not fail for them, nor print more: it is said where
// a user looks (gnvcc doctor, GNVCC_LOG), and where no nvcc is found at all.
func Ignored(env *environment.Environment) (why []string) {
	if env.Nvcc != "" {
		return nil // they are not asked
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		dir := env.Get(name)
		if dir == "" {
			continue
		}
		if !executable(filepath.Join(dir, "bin", "nvcc")) {
			why = append(why, fmt.Sprintf("%s is %s, which has no bin/nvcc that can be run", name, dir))
		} else if name == "CUDA_HOME" {
			return why // it is taken, or is gnvcc; CUDA_PATH is not asked any more
		}
	}
	return why
}

// notFound is what Find says when there is no nvcc.
func notFound(env *environment.Environment) error {
	err := errNotFound
	for _, why := range Ignored(env) {
		err = fmt.Errorf("%w; %s", err, why)
	}
	return err
}
