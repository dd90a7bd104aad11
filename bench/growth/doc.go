// Command growth measures what becomes of stores and registries as they grow: publishing and
// look-up in a store of a million decisions; pushes and pulls of 10,000 kernels; a repository with
// a thousand publishers; a day of 1,000 and of 10,000 machines, drawn from what single pushes and
// pulls ask of a real registry (fleet.go). It prints a JSON object a line.
//
//	docker-registry serve config.yml &
//	make build && go run ./bench/growth -registry 127.0.0.1:5000 >growth.jsonl
//
// Its decisions are made up, with evidence of the size that searches leave; what is measured is
// bytes, requests and look-ups.
package main
