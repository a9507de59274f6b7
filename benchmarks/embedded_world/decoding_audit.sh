#!/usr/bin/env bash
# The annotation audit over everything generation can vary, on the models of seed 0.
# Run it after `make demo`; it writes data/audit-world beside data/world and ends with the tables.
set -euo pipefail
corpus=data/world out=data/audit-world
mkdir -p "$out"
vary() { # LM NAME OPTIONS...: generate for 2,000 sentences, one reference each
  local lm=$1 name=$2
  shift 2
  conjoin generate "$corpus" --lm "$lm" --seed 0 --limit 2000 --out "$out/candidates/$lm-$name/seed-0" "$@" \
    >"$out/$lm-$name.log" 2>&1
}
for lm in bert t5; do
  for combine in min mean; do
    for scores in logits logprobs; do
      vary "$lm" "$combine-$scores" --synchronize "$combine" --scores "$scores"
    done
  done
  vary "$lm" no-sync --no-sync
  for temperature in 0.5 1.0; do
    vary "$lm" "sample-$temperature" --decoding sample --temperature "$temperature"
  done
  vary "$lm" "n-best-1" --decoding n-best --n 1 --beams 4
  vary "$lm" "n-best-3" --decoding n-best --n 3
  for pool in 1 4 16 64; do
    vary "$lm" "attested-$pool" --fills attested --pool "$pool"
  done
  vary "$lm" "attested-head" --fills attested --match head
done
conjoin audit "$out" --source data/raw/world --sample 100000
