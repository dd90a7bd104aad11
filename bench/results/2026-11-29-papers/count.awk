# Of what gnvcc predict prints: demotions, those that access local memory more often than nvcc's own code, those that don't at all.
/^  nvcc.s own/ { own = $5 }
/^  demote=[0-9]/ && $4 != "-" { n++; for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+$/ && $(i + 1) ~ /^[0-9]+$/) { s = $(i + 2); break } more += s > own; none += s == 0 }
END { print n + 0, "demotions,", more + 0, "spill more than nvcc,", none + 0, "have no local access" }
