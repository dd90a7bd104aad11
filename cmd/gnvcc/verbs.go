package main

// verbs are gnvcc's own commands. Each gets the arguments behind its name and gives the exit code.
var verbs = map[string]func(args []string) int{
	"apply":    apply,
	"ban":      ban,
	"captures": listCaptures,
	"clean":    clean,
	"doctor":   doctor,
	"explain":  explain,
	"forget":   forget,
	"help":     help,
	"pin":      pin,
	"predict":  predict,
	"profile":  profiles,
	"replay":   replayCaptures,
	"report":   showReport,
	"revert":   revert,
	"stats":    stats,
	"status":   status,
	"tune":     tune,
	"unban":    unban,
	"unpin":    unpin,
}
