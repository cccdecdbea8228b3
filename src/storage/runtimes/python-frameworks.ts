/** A framework whose models run in the user's own Python. */
export interface PythonFramework {
  /** Its usual name. */
  readonly title: string;
  /** Its project in the Python package index. */
  readonly project: string;
  /** Projects that it needs without requiring them. */
  readonly besides?: readonly string[];
  /** Debian's packages of what these projects do not bring. */
  readonly debian?: readonly string[];
  /** The module that it is imported as; its absence means that another interpreter may serve. */
  readonly module: string;
  /** Advice on installing it if it is missing. */
  readonly install: string;
  /** Files that are expected at a path, for the message if nothing is; absent for drivers with code of their own. */
  readonly files?: string;
  /** The kind of path that all its models have; absent where it is either. */
  readonly takes?: "file" | "folder";
  /** Endings of paths that no other driver takes. */
  readonly endings?: readonly string[];
  /** True if models may be pickles, which need allow_pickle. */
  readonly hasPickles?: boolean;
}

/** By driver, which is also the name of its module in python/kserving_host/frameworks. Adding one is one entry here. */
export const PYTHON_FRAMEWORKS: Readonly<Record<string, PythonFramework>> = {
  python: {
    title: "numpy",
    project: "numpy",
    module: "numpy",
    install: "pip install numpy, for every driver of models in Python",
  },
  pytorch: {
    title: "PyTorch",
    project: "torch",
    module: "torch",
    install: "kserving runtimes install pytorch, or apt-get install python3-torch",
  },
  sklearn: {
    title: "scikit-learn",
    project: "scikit-learn",
    module: "sklearn",
    install: "pip install scikit-learn, or apt-get install python3-sklearn",
    files: "a .joblib or .pkl file",
    takes: "file",
    endings: [".joblib", ".pkl", ".pickle"],
    hasPickles: true,
  },
  xgboost: {
    title: "XGBoost",
    project: "xgboost",
    module: "xgboost",
    install: "pip install xgboost",
    files: "a .ubj, .json or .pkl file",
    takes: "file",
    endings: [".ubj", ".bst", ".xgb"],
    hasPickles: true,
  },
  lightgbm: {
    title: "LightGBM",
    project: "lightgbm",
    debian: ["libgomp1"],
    module: "lightgbm",
    install: "pip install lightgbm",
    files: "a model as text (.txt, .lgb) or a .pkl file",
    takes: "file",
    endings: [".lgb", ".lgbm"],
    hasPickles: true,
  },
  catboost: {
    title: "CatBoost",
    project: "catboost",
    module: "catboost",
    install: "pip install catboost",
    files: "a .cbm, .json or .pkl file",
    takes: "file",
    endings: [".cbm", ".cb"],
    hasPickles: true,
  },
  mlflow: {
    title: "MLflow",
    project: "mlflow",
    module: "mlflow",
    install: "pip install mlflow, and what requirements.txt in the folder lists",
    files: "a folder with a file MLmodel, as MLflow's save_model writes it",
    hasPickles: true,
  },
  statsmodels: {
    title: "statsmodels",
    project: "statsmodels",
    module: "statsmodels",
    install: "pip install statsmodels",
    files: "fitted results that results.save wrote (.pickle)",
    takes: "file",
    hasPickles: true,
  },
  pmml: {
    title: "PyPMML",
    project: "pypmml",
    debian: ["default-jre-headless"],
    module: "pypmml",
    install: "pip install pypmml, and Java 8 or later",
    files: "a .pmml file",
    takes: "file",
    endings: [".pmml"],
  },
  h2o: {
    title: "H2O",
    project: "h2o",
    besides: ["jpype1"],
    debian: ["default-jre-headless"],
    module: "h2o",
    install: "pip install h2o jpype1, and Java 8 or later",
    files: "a MOJO, as model.download_mojo writes it (.zip)",
    endings: [".mojo"],
  },
  paddle: {
    title: "PaddlePaddle",
    project: "paddlepaddle",
    module: "paddle",
    install: "pip install paddlepaddle",
    files: "a .json or .pdmodel file with its .pdiparams, or their folder",
    endings: [".pdmodel"],
  },
  mxnet: {
    title: "MXNet",
    project: "mxnet",
    debian: ["libgomp1"],
    module: "mxnet",
    install: "pip install mxnet",
    files: "a NAME-symbol.json with its NAME-0000.params, or their folder",
    endings: ["-symbol.json"],
  },
  transformers: {
    title: "Transformers",
    project: "transformers",
    besides: ["torch"],
    module: "transformers",
    install: "pip install transformers torch",
    files: "a folder with config.json, weights and a tokenizer, as save_pretrained writes them",
    takes: "folder",
  },
  spacy: {
    title: "spaCy",
    project: "spacy",
    module: "spacy",
    install: "pip install spacy",
    files: "the folder of a pipeline, as nlp.to_disk writes it",
    takes: "folder",
  },
};

/** Names of drivers that consist of a {@link PYTHON_FRAMEWORKS} entry and its Python module alone. */
export const PLAIN_FRAMEWORKS: readonly string[] = Object.entries(PYTHON_FRAMEWORKS)
  .filter(([, { files }]) => files !== undefined)
  .map(([name]) => name);
