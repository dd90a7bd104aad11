// Command watch runs the script of bench/watch/script with a real GPU: edits one after the other
// while gnvcc watch runs, what was tuned again after each, and how long it took from saving an edit
// to the recipe in the store. With -idle it measures what a watch with nothing to do costs; that
// needs no GPU.
package main
