import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { chooseEngine } from "../../../src/drivers/openvino/openvino.ts";
import { OPENVINO_OPTIONS } from "../../../src/drivers/openvino/openvino-options.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const home = process.cwd();

afterEach(() => {
  process.chdir(home);
  vi.unstubAllEnvs();
});

const choose = (options: RawOptions) => chooseEngine(parseOptions(OPENVINO_OPTIONS, options));

/** Makes this machine one without OpenVINO, but for what npm has put into the working directory. */
function leaveOnly(packages: Record<string, string>): void {
  const folder = tempFolder(packages);
  process.chdir(folder);
  for (const name of [
    "KSERVING_OPENVINO_LIB",
    "OPENVINO_LIB",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "PATH",
  ])
    vi.stubEnv(name, "");
  for (const name of ["KSERVING_RUNTIMES_DIR", "XDG_DATA_HOME", "HOME"]) vi.stubEnv(name, join(folder, "empty"));
}

describe("-o engine=", () => {
  it.each(["native", "node"])("%s is taken as it is", (engine) => {
    leaveOnly({});
    expect(choose({ engine })).toBe(engine);
  });

  it("auto takes the C library where there is one", () => {
    const openvino_lib = tempFolder({ "libopenvino_c.so.2641": "", "libopenvino.so.2641": "" });
    expect(choose({ openvino_lib })).toBe("native");
  });

  it.each([
    ["a complete openvino-node", "node", ">=18", { "node_modules/openvino-node/bin/ov_node_addon.node": "" }],
    ["one that is not complete", "native", ">=18", {}],
    ["one for a later Node", "native", ">=99", { "node_modules/openvino-node/bin/ov_node_addon.node": "" }],
  ])("auto takes what is there otherwise: %s", (_what, engine, node, files) => {
    const manifest = JSON.stringify({ name: "openvino-node", version: "2026.9.0", engines: { node } });
    leaveOnly({ "node_modules/openvino-node/package.json": manifest, ...files });
    expect(choose({})).toBe(engine);
  });

  it("auto takes native, which says what to install, where there is neither", () => {
    leaveOnly({});
    expect(choose({})).toBe("native");
  });
});
