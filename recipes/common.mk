# The chain from a corpus to its score, as rules on files. A recipe sets NAMES, its corpora, and what
# else differs, and then includes this:
#
#   data/NAME/manifest.json -> data/NAME/pieces/manifest.json -> runs/NAME/.trained
#     -> models/NAME/model.json -> out/NAME.hyp -> out/NAME.score
#
# What is there is not made again. An interrupted training continues where its last checkpoint stands.

NMT ?= ../../.venv/bin/nmt
SOURCE ?= en
TARGET ?= de
# A corpus of the catalogue, called as the folder; or --source FILE --target FILE and so on.
PREPARE ?= $*
VOCAB_SIZE ?= 8000
PRESET ?= small
TRAIN ?=
AVERAGE ?= --last 5
TRANSLATE ?=
SCORE ?=
TEST_SOURCE ?= data/$*/test.$(SOURCE)
TEST_REFERENCE ?= data/$*/test.$(TARGET)

# Keep the links of the chain; leave nothing behind a command that failed.
.SECONDARY:
.DELETE_ON_ERROR:

# Said of each corpus by name: a pattern would take data/NAME/pieces for a corpus too.
$(NAMES:%=data/%/manifest.json): data/%/manifest.json:
	$(NMT) prepare $(PREPARE) --out data/$*

data/%/pieces/manifest.json: data/%/manifest.json
	$(NMT) bpe data/$* --vocab-size $(VOCAB_SIZE) --force

runs/%/.trained: data/%/pieces/manifest.json
	$(NMT) train data/$* --preset $(PRESET) --run runs/$* $(TRAIN)
	@touch $@

models/%/model.json: runs/%/.trained
	$(NMT) average runs/$* $(AVERAGE) --out models/$* --force

out/%.hyp: models/%/model.json
	@mkdir -p out
	$(NMT) translate --model models/$* $(TRANSLATE) < $(TEST_SOURCE) > $@.part
	@mv $@.part $@

out/%.score: out/%.hyp
	$(NMT) score --reference $(TEST_REFERENCE) $(SCORE) $< > $@.part
	@mv $@.part $@
