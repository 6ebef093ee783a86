"""What the tests of types of fewer bits share: models with golden numbers, and a check that results are near these."""
from common import MODELS, distance, read_safetensors, results

# Descriptions, and the folders of their golden numbers.
GOLDENS = [("seed0/seed0.xf", "seed0"), ("seed1/seed1.xf", "seed1/postnorm"), ("seed1/seed1.xf", "seed1/prenorm"), ("seed2/seed2.xf", "seed2"),
           ("seed3/seed3.xf", "seed3"), ("seed4/seed4.xf", "seed4"), ("tagger/tagger.xf", "tagger"), ("classifier/classifier.xf", "classifier")]


def confirm_golden(checks, title, model, folder, allowed, *options):
    """Runs a model on the inputs of a folder's golden numbers, checks that f32 results are near those, and returns all results."""
    io = read_safetensors(MODELS / folder / "io.safetensors")
    wanted = {key.removeprefix("out."): tensor for key, tensor in io.items() if key.startswith("out.")}
    got = results(model, {key: tensor for key, tensor in io.items() if key.startswith("in.")}, *options, ok=True)
    compared = [name for name in got if name in wanted and wanted[name][0] == "F32"]
    checks.that(compared, f"{title}: nothing was compared")
    for tensor in compared:
        error = distance(got[tensor], wanted[tensor])
        checks.that(1e-6 < error <= allowed or "attention" in tensor and error <= allowed, f"{title}: {tensor} is {error:.2e} off")
    return got
