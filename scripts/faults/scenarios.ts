import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The answer of a request: the body where it is 200, else the status. */
export type Answer = string | number;

/** Places of one run of a scenario. */
export interface Place {
  /** The folder on whose files calls may fail. */
  readonly folder: string;
  /** An archive of the model, at a server of the runner. */
  readonly archive: string;
}

/** A started server, for its {@link Scenario.drive}. */
export interface Driven {
  readonly http: string;
  readonly pid: number;
  readonly place: Place;
  post(path: string, body: unknown): Promise<Answer>;
}

/** A small task for the server, whose calls fail one after the other. */
export interface Scenario {
  readonly name: string;
  /** Writes the files, and gives the flags; a second start in the same folder has what the first has left. */
  prepare(place: Place): readonly string[];
  /** Gives the answer of the last request. */
  drive(server: Driven): Promise<Answer>;
}

const HALF = "test/fixtures/models/half-plus-two.onnx";
const PREDICT = "/v1/models/m:predict";
const predict = ({ post }: Driven) => post(PREDICT, { instances: [1] });

function model({ folder }: Place): string {
  cpSync(HALF, join(folder, "m.onnx"));
  return `--model=m=${join(folder, "m.onnx")}`;
}

const HOOKS = "export const postprocess = (outputs) => outputs;";

/** All scenarios. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "model", prepare: (place) => [model(place)], drive: predict },
  { name: "isolated model", prepare: (place) => [model(place), "--isolate"], drive: predict },
  { name: "supervised model", prepare: (place) => [model(place), "--supervisor"], drive: predict },
  {
    name: "download",
    prepare: ({ folder, archive }) => [`--model=m=${archive}`, `--model-cache=${join(folder, "cache")}`],
    drive: predict,
  },
  {
    name: "hooks",
    prepare: (place) => {
      const hooks = join(place.folder, "hooks.mjs");
      writeFileSync(hooks, HOOKS);
      const path = model(place).slice("--model=m=".length);
      const models = { models: [{ name: "m", path, hooks }] };
      writeFileSync(join(place.folder, "models.json"), JSON.stringify(models));
      return [`--config=${join(place.folder, "models.json")}`];
    },
    drive: async (server) => {
      await predict(server);
      writeFileSync(join(server.place.folder, "hooks.mjs"), `${HOOKS}\n`);
      process.kill(server.pid, "SIGHUP");
      await predict(server);
      return predict(server);
    },
  },
  {
    name: "records",
    prepare: (place) => {
      mkdirSync(join(place.folder, "log"), { recursive: true });
      return [model(place), `--log-path=${join(place.folder, "log/a.log")}`, `--request-log=${place.folder}/log/r`];
    },
    drive: async (server) => {
      await predict(server);
      return predict(server);
    },
  },
  {
    name: "shared memory",
    prepare: (place) => [model(place), "--allow-client-shm"],
    drive: async (server) => {
      const { folder } = server.place;
      const key = `/${folder.split("/").at(-1)}`;
      writeFileSync(`/dev/shm${key}`, new Uint8Array(new Float32Array([1]).buffer));
      const region = { key, offset: 0, byte_size: 4 };
      await server.post("/v2/systemsharedmemory/region/r/register", region);
      const parameters = { shared_memory_region: "r", shared_memory_byte_size: 4 };
      const inputs = [{ name: "x", datatype: "FP32", shape: [1], parameters }];
      await server.post("/v2/models/m/infer", { inputs });
      return predict(server);
    },
  },
  {
    name: "socket",
    prepare: (place) => [model(place), `--grpc-socket-path=${join(place.folder, "s")}`],
    drive: predict,
  },
];
