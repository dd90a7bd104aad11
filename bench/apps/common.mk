# What the applications share. APPLICATIONS is the folder that slim.sh made, LINKS the one of
# libraries.sh, CUDA the toolkit; NVCC, the compiler, comes from the suite, as does ARCH.
#
# all builds by the application's own build files. run prints what the application prints, and keeps
# it for figures, which prints the figures that its users look at, one a line:
#
#	NAME VALUE UNIT more|less
#
# more: more is better. It fails where the application's own check of the last run did.

ARCH = sm_90
SM = $(ARCH:sm_%=%)
JOBS = 8
export PATH := $(CUDA)/bin:$(PATH)
export LD_LIBRARY_PATH := $(LINKS)/lib:$(LD_LIBRARY_PATH)

# $(call taken,FOLDER) copies the sources once.
taken = test -d src || cp -r $(APPLICATIONS)/$(1) src
# $(call kept,FOLDER,COMMAND) runs a command in a folder.
kept = @cd $(1) && { $(2) >$(CURDIR)/out.txt; status=$$?; cat $(CURDIR)/out.txt; exit $$status; }
# $(call has,REGULAR EXPRESSION) is the application's check; $(call figure,...) takes the last number
# behind a text: TEXT, NAME, UNIT, more or less.
has = @grep -Eq '$(1)' out.txt || { echo 'its own check failed: no "$(1)"' >&2; exit 1; }
figure = @awk -v name='$(2)' -v unit='$(3)' -v way='$(4)' '{ at = match($$0, "$(1)"); if (at) { \
	rest = substr($$0, at + RLENGTH); if (match(rest, /[0-9][0-9.]*([eE][-+]?[0-9]+)?/)) \
	value = substr(rest, RSTART, RLENGTH) } } \
	END { if (value == "") exit 1; print name, value, unit, way }' out.txt

all:
clean:
	rm -rf src out.txt
.PHONY: all run clean figures
