import { type ForeignClient, LANGUAGES, PYTHON, REQUESTS, SOFTMAX } from "./simple-tensorflow-serving-languages.ts";

/** A server's command line in a checkout of Simple TensorFlow Serving, and the clients of that checkout that ask it. */
export interface ForeignGroup {
  readonly flags: readonly string[];
  readonly clients: readonly ForeignClient[];
  /** Variables of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** The reason for which the server may not start with it: a model that no library of today reads. */
  readonly mayFail?: string;
}

const PYTHON_2 = ["python2 -c 'import requests'", "it is written for Python 2, with requests"] as const;
const TEMPLATE = "--model_base_path=./models/tensorflow_template_application_model";
const URL = "http://127.0.0.1:8500";
/** Variables that let the server load a pickle. */
const PICKLES = { KSERVING_OPTION: "allow_pickle=true" };

function python(file: string, prints: RegExp): ForeignClient {
  return {
    name: `clients/python_client/${file}`,
    command: `${PYTHON} clients/python_client/${file}`,
    needs: REQUESTS,
    prints,
  };
}

function generated(language: string, run: string, prints: RegExp, tool: string): ForeignClient {
  const file = run.split(" ").at(-1);
  return {
    name: `gen_client?language=${language}`,
    command: `folder=$(mktemp -d) && cd "$folder" && curl -s '${URL}/v1/models/default/gen_client?language=${language}' > ${file} && ${run}; rm -rf "$folder"`,
    needs: [`command -v ${tool}`, `${tool} is not installed`],
    prints,
  };
}

const generatedClients = (prints: RegExp): readonly ForeignClient[] => [
  generated("bash", "bash client.sh", prints, "curl"),
  generated("python", `${PYTHON} client.py`, prints, PYTHON),
  generated("golang", "go run client.go", prints, "go"),
  generated("javascript", "node client.js", prints, "node"),
];

/** The clients of the checkout, by the models that they ask. Its files are named here, none of their content is. */
export const FOREIGN_GROUPS: readonly ForeignGroup[] = [
  {
    flags: [TEMPLATE],
    clients: [
      ...LANGUAGES,
      {
        name: "simple_tensorflow_serving/python_predict_client.py, predict_json",
        command: `cd simple_tensorflow_serving && ${PYTHON} -c 'import python_predict_client as c; print(c.predict_json({"data": {"keys": [[1]], "features": [[1] * 9]}}))'`,
        needs: [`${PYTHON} -c 'import requests, numpy, PIL'`, "Python has no packages requests, numpy and PIL"],
        prints: /softmax/,
      },
      {
        name: "simple_tensorflow_serving/python_predict_client.py, get_gen_json_and_clients",
        command: `cd simple_tensorflow_serving && ${PYTHON} -c 'import python_predict_client as c; print(c.get_gen_json_and_clients(language="Json"), c.get_gen_json_and_clients(language="golang"))'`,
        needs: [`${PYTHON} -c 'import requests, numpy, PIL'`, "Python has no packages requests, numpy and PIL"],
        prints: /'keys': \[\[1\], \[1\]\].*package main/s,
      },
      {
        name: "benchmark/tensorflow_template_application_model/data.json",
        command: `curl -s -H 'Content-Type: application/json' -d @benchmark/tensorflow_template_application_model/data.json ${URL}`,
        prints: SOFTMAX,
      },
      {
        name: "benchmark/tensorflow_template_application_model/data_for_tensorflow_serving.json",
        command: `curl -s -d @benchmark/tensorflow_template_application_model/data_for_tensorflow_serving.json ${URL}/v1/models/default:predict`,
        prints: /"predictions"/,
      },
      {
        name: "benchmark/benchmark_template_client.py",
        command: `${PYTHON} benchmark/benchmark_template_client.py`,
        needs: REQUESTS,
        prints: /softmax.*Benchmark iteration: 1000/s,
      },
      {
        name: "tools/generate_clients/generate_python.sh",
        command: `here=$PWD && folder=$(mktemp -d) && cd "$folder" && bash "$here/tools/generate_clients/generate_python.sh" && ${PYTHON} client.py; rm -rf "$folder"`,
        prints: SOFTMAX,
      },
      ...generatedClients(SOFTMAX),
    ],
  },
  {
    flags: [TEMPLATE, "--enable_auth=True", "--auth_username=admin", "--auth_password=admin"],
    clients: [
      {
        name: "clients/bash_client/auth_client.sh",
        command: "bash clients/bash_client/auth_client.sh",
        prints: SOFTMAX,
      },
      python("auth_client.py", SOFTMAX),
      {
        name: "clients/bash_client/client.sh without a user",
        command: "bash clients/bash_client/client.sh",
        prints: /"error"/,
      },
    ],
  },
  {
    flags: ["--model_base_path=./models/deep_image_model/"],
    clients: [
      {
        name: "clients/bash_client/image_client.sh",
        command: "cd clients/bash_client && bash image_client.sh",
        prints: /"prediction": \[\d+\].*"prediction": \[\d+\]/s,
      },
      {
        name: "README.md, raw image file",
        command: "curl -s -X POST -F 'image=@./images/mew.jpg' -F 'model_version=1' 127.0.0.1:8500",
        prints: /"prediction": \[\d+\]/,
      },
      {
        name: "clients/python_client/image_client.py",
        command: "cd clients && python2 python_client/image_client.py",
        needs: PYTHON_2,
        prints: /"prediction"/,
      },
    ],
  },
  {
    flags: ["--model_base_path=./models/distributed_tensorflow_model"],
    clients: generatedClients(/"prediction": ?\[\[12\.04/),
  },
  {
    flags: ["--model_base_path=./models/preprocess_simplest_model"],
    clients: [
      {
        ...python("simplest_client.py", /\{"keys": \[1, 2\]\}.*"error": .*"error": /s),
        name: "clients/python_client/simplest_client.py: its functions are refused",
      },
      ...generatedClients(/\{"keys": ?\[1, ?1\]\}/),
    ],
  },
  {
    flags: ["--model_base_path=./benchmark/simplest_model/model"],
    clients: [
      {
        name: "benchmark/simplest_model/data.json",
        command: `curl -s -H 'Content-Type: application/json' -d @benchmark/simplest_model/data.json ${URL}`,
        prints: /"keys"/,
      },
      {
        name: "benchmark/benchmark_simplest_client.py",
        command: `${PYTHON} benchmark/benchmark_simplest_client.py`,
        needs: REQUESTS,
        prints: /\{'keys': \[1, 1\]\}.*Benchmark iteration: 1000/s,
      },
    ],
  },
  {
    flags: ["--model_base_path=./models/tensorflow_estimator_model"],
    clients: [
      {
        name: "clients/python_client/estimator_client.py",
        command: "python2 clients/python_client/estimator_client.py",
        needs: PYTHON_2,
        prints: /"classes"/,
      },
      {
        name: "README.md, base64_decode, with the example of estimator_client.py",
        command: `curl -s -H 'Content-Type: application/json' -d '{"base64_decode": true, "data": {"inputs": ["'$(sed -n 's/.*# Example: //p' clients/python_client/estimator_client.py)'"]}}' ${URL}`,
        prints: /"classes": \[\["0", "1"\]\]/,
      },
    ],
  },
  {
    flags: [
      TEMPLATE,
      '--session_config={"log_device_placement": true, "allow_soft_placement": true, "allow_growth": true, "per_process_gpu_memory_fraction": 0.5}',
    ],
    clients: [
      {
        name: "README.md, session_config and its call",
        command: `curl -s -H 'Content-Type: application/json' -d "$(sed -n "s/^curl -H .*-X POST -d '\\(.*\\)' http.*/\\1/p" README.md | head -1)" ${URL}`,
        prints: /"prediction": \[\d, \d\]/,
      },
    ],
  },
  ...["one_tensorflow_model", "tensorflow_gpu_session_config", "model_config_file"].map((file) => ({
    flags: [`--model_config_file=./examples/${file}.json`],
    clients: [
      { name: `examples/${file}.json, client.sh`, command: "bash clients/bash_client/client.sh", prints: SOFTMAX },
    ],
  })),
  {
    flags: ["--model_base_path=./models/onnx_mnist_model/onnx_model.proto", "--model_platform=onnx"],
    clients: [python("onnx_mnist_client.py", /\[\[/)],
    mayFail: "ONNX Runtime has no operations of opset 1",
  },
  ...["model.joblib", "model.pkl"].map((file) => ({
    flags: [`--model_base_path=./models/scikitlearn_iris/${file}`, "--model_platform=scikitlearn"],
    clients: [python("scikitlearn_iris_client.py", /"predict"/)],
    env: PICKLES,
    mayFail: "a pickle of scikit-learn 0.19, whose modules have other names today",
  })),
  ...["model.bst", "model.joblib", "model.pkl"].map((file) => ({
    flags: [`--model_base_path=./models/xgboost_iris/${file}`, "--model_platform=xgboost"],
    clients: [python("xgboost_iris_client.py", /"result"/)],
    env: PICKLES,
    mayFail: "XGBoost 3 reads no models in the binary form of 2018",
  })),
  {
    flags: ["--model_name=mxnet_mlp_model", "--model_base_path=./models/mxnet_mlp/mx_mlp", "--model_platform=mxnet"],
    clients: [python("mxnet_mlp_client.py", /"lro_output": \[/)],
    mayFail: "no Python here has mxnet, which VIRTUAL_ENV may name",
  },
  ...(
    [
      ["h2o_prostate_model/GLM_model_python_1525255083960_17", "h2o", "h2o_prostate_client.py", "H2O 3.18's own file"],
      ["mllib_lr_model", "spark", "mllib_lr_client.py", "there is no driver for spark"],
    ] as const
  ).map(([path, platform, client, mayFail]) => ({
    flags: [`--model_base_path=./models/${path}`, `--model_platform=${platform}`],
    clients: [python(client, /\[/)],
    mayFail,
  })),
];
