#!/usr/bin/env bash
# Which α an augmentation needs, on the embedded world: chosen on the dev split, with seeds 10 to 12, which no table
# shows. Run it in a clone of its own, for evaluate keeps the figures of one split:
#   conjoin repro --set 'seeds=[10,11,12]' --set 'labelled=[100]' --set 'systems=[attested-bert]' --set 'releases=[]' \
#     --skip 'conjoin (train|evaluate|audit|report)'
#   bash benchmarks/augmentation/augmentation_sweep.sh mask-no-verbs --augment mask --mask-tags all-VERB
# NAME comes first, then the flags of train that make it. SEEDS, ALPHAS, CORPUS, LABELLED and CANDIDATES (those that it stands
# beside; empty: alone only) in the environment are for other sweeps. GENIA's, with models/bert and preparse's trees:
#   conjoin ingest genia data/raw/genia --labelled 250 --seeds 10 --out data/genia
#   CORPUS=data/genia LABELLED=250 SEEDS=10 CANDIDATES= bash benchmarks/augmentation/augmentation_sweep.sh substitute --augment substitute --steps 1000
set -euo pipefail
name=${1:?a name, then flags of train}
shift
corpus=${CORPUS:-data/world}
candidates=${CANDIDATES-attested-bert}
train() { # SYSTEM SEED OPTIONS...
  conjoin train "$corpus" --params params.yaml --labelled "${LABELLED:-100}" --seed "$2" --system "$1" --resume "${@:3}"
}
for seed in ${SEEDS:-10 11 12}; do
  beside=(--mode no-filter --candidates "$corpus/candidates/$candidates/seed-$seed")
  for alpha in ${ALPHAS:-0.1 0.3 0.5 0.7 0.9 1}; do
    train "sweep-$name-$alpha" "$seed" --mode baseline "$@" --alpha "$alpha"
    if [ "$candidates" ]; then train "sweep-$candidates-$name-$alpha" "$seed" "${beside[@]}" "$@" --alpha "$alpha"; fi
  done
done
conjoin evaluate "$corpus" --split dev --params params.yaml
