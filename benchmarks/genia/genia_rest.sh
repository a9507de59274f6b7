#!/usr/bin/env bash
# The rows of GENIA's table that are no cells of `conjoin repro genia-cpu`; run it afterwards, where the
# corpus lies. Candidates after the predictor's errors, gold coordinations, 500 labelled sentences; then the tables.
set -euo pipefail
corpus=data/genia params='--params params.yaml'
learn() { # SYSTEM SEED OPTIONS...: 250 labels, all of candidates/SYSTEM
  local system=$1 seed=$2
  shift 2
  conjoin train $corpus $params --system "$system" --mode no-filter --candidates "$corpus/candidates/$system/seed-$seed" \
    --labelled 250 --seed "$seed" --resume "$@"
}
python benchmarks/genia/control_candidates.py $corpus attested-bert --seeds 0 1 2 3 4 # control-real, control-real-and
for seed in 0 1 2 3 4; do
  # Errors are estimated by thirds of L, with a short baseline of its own outside the tables.
  conjoin train $corpus $params --system short --mode baseline --labelled 250 --seed $seed --steps 800 \
    --out $corpus/errors/run-$seed --resume
  conjoin diagnose $corpus/errors/run-$seed --folds 3 --out $corpus/errors/seed-$seed
  conjoin generate $corpus $params --lm bert --sync --fills attested --targets $corpus/errors/seed-$seed/targets.json \
    --seed $seed --out $corpus/candidates/attested-targets/seed-$seed
  learn attested-targets $seed --generator 'attested fills' --caption 'ranked by BERT, drawn by errors'
  learn control-real-and $seed --generator 'gold coordinations' --caption 'X and Y, as many as generated'
  learn control-real $seed --generator 'gold coordinations'
done
for seed in 0 1 2; do # 500 labels, and a parser of as many trees
  conjoin harvest $corpus $params --parser labelled --parser-lm bert --labelled 500 --seed $seed \
    --out $corpus/candidates/harvest-labelled-500/seed-$seed
  conjoin train $corpus $params --system harvest-labelled --mode no-filter --labelled 500 --seed $seed --resume \
    --candidates $corpus/candidates/harvest-labelled-500/seed-$seed --generator harvest --caption "parser of L's trees"
done
conjoin repro genia-cpu --set 'labelled=[500]' --set 'seeds=[0,1,2]' \
  --skip 'conjoin (ingest|pretrain|preparse|generate|harvest|select|release|audit|report)|--system ((baseline|harvest.*|both)-long|harvest-labelled|t5|bert|unranked|attested-twins|self-trained|agreed.*|mixed|both|harvest-half) '
conjoin report $corpus
