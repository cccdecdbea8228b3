import { failedPrecondition } from "../errors.ts";
import { defineDriver, type Model, type PartsModel } from "./driver.ts";
import { isEncoderFolder, readEncoder } from "./python/encoder-folder.ts";
import { loadPythonModel } from "./python/load-python-model.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions, parseModelArgs } from "./python/python-host-options.ts";

interface PytorchOptions extends PythonHostOptions {
  readonly model_class?: string;
  readonly model_args?: string;
  readonly allow_pickle: boolean;
  readonly device: string;
  readonly threads: number;
  readonly dtype?: string;
  readonly half: boolean;
  readonly compile: boolean;
}

/**
 * Runs PyTorch's models in the user's own Python: state dicts with their class, TorchScript, exported programs, and
 * encoders of transformers.
 */
export default defineDriver<PytorchOptions, Model | PartsModel>({
  name: "pytorch",
  options: {
    model_class: { type: "string", help: "The class that takes the file's weights, as package.module:Net." },
    model_args: {
      type: "string",
      help: "Arguments of the class as JSON: an object gives them by name, a list by position.",
    },
    allow_pickle: {
      type: "boolean",
      default: false,
      help: "Loads pickles of whole models, which run whatever code is in them; for files that you trust.",
    },
    device: { type: "string", default: "cpu", help: "Where the model runs: cpu, cuda, cuda:N or mps." },
    threads: { type: "integer", min: 0, default: 0, help: "Threads within one operator; 0 = what --threads says." },
    dtype: {
      type: "choice",
      choices: ["float16", "bfloat16", "float32", "float64"],
      help: "Casts the weights, and float inputs, to this type; left out, they stay as they are.",
    },
    half: { type: "boolean", default: false, help: "The same as dtype=float16." },
    compile: {
      type: "boolean",
      default: false,
      help: "Compiles the model with torch.compile, which needs torch 2.0 and a C++ compiler.",
    },
    ...PYTHON_HOST_OPTIONS,
  },
  placement: "inline",
  isIsolated: true,
  detect: (path) => /\.(pt|pth|pt2|torchscript|jit)$/i.test(path) || isEncoderFolder(path),
  load: async (path, options, host) => {
    const { model_class, model_args, allow_pickle, device, threads, dtype, half, compile } = options;
    // A class takes the weights of a folder, whatever lies beside them.
    const encoder = model_class === undefined ? await readEncoder(path) : undefined;
    if (encoder?.isPickled && !allow_pickle) throw failedPrecondition(PICKLED);
    const own = {
      encoder,
      model_class,
      model_args: parseModelArgs(model_args),
      allow_pickle,
      device,
      threads,
      dtype,
      half,
      compile,
    };
    return loadPythonModel({ framework: encoder === undefined ? PYTORCH : TRANSFORMERS, path, options, own }, host);
  },
});

const PYTORCH = {
  name: "pytorch",
  title: "PyTorch",
  module: "torch",
  files: "a TorchScript file, a state dict, an exported program (.pt2) or a pickled model",
  howToInstall: "Run: kserving runtimes install pytorch; or apt-get install python3-torch, or pip install torch.",
};

const PICKLED =
  "The folder has its weights as pickles alone (pytorch_model.bin), which may run code while they load. Save them as model.safetensors (model.save_pretrained does); for files that you trust: -o allow_pickle=true.";

/** For encoders, which are classes of transformers. */
const TRANSFORMERS = {
  ...PYTORCH,
  title: "PyTorch and Transformers",
  module: "transformers",
  files: "a folder with config.json and model.safetensors",
  howToInstall: "Install both in one: pip install torch transformers.",
};
