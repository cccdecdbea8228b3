import { describe, expect, it } from "vitest";
import { freeMemory } from "../../../../src/platform/limits/memory/free-memory.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const KIB = 1024;
const MEMINFO = { "proc/meminfo": "MemTotal:       9000 kB\nMemFree:         100 kB\nMemAvailable:    8000 kB\n" };
const V1 = "sys/fs/cgroup/memory";

describe("free memory", () => {
  it("is what the machine has where no group has a limit", async () => {
    const folder = tempFolder({ ...MEMINFO, "proc/self/cgroup": "0::/user.slice\n" });
    expect(freeMemory(folder)).toEqual({ bytes: 8000 * KIB, of: "this machine" });
  });

  it("is what a control group leaves, its cache of files counted as free", async () => {
    const folder = tempFolder({
      ...MEMINFO,
      "proc/self/cgroup": "0::/\n",
      "sys/fs/cgroup/memory.max": `${1000 * KIB}\n`,
      "sys/fs/cgroup/memory.current": `${900 * KIB}\n`,
      "sys/fs/cgroup/memory.stat": `anon ${500 * KIB}\nactive_file ${100 * KIB}\ninactive_file ${300 * KIB}\nfile ${400 * KIB}\n`,
    });
    expect(freeMemory(folder)).toEqual({ bytes: 500 * KIB, of: "this container" });
  });

  it("counts the limits of groups around, and none that says max", async () => {
    const folder = tempFolder({
      ...MEMINFO,
      "proc/self/cgroup": "0::/kube/pod/main\n",
      "sys/fs/cgroup/kube/pod/main/memory.max": "max\n",
      "sys/fs/cgroup/kube/pod/main/memory.current": "1\n",
      "sys/fs/cgroup/kube/pod/memory.max": `${2000 * KIB}\n`,
      "sys/fs/cgroup/kube/pod/memory.current": `${500 * KIB}\n`,
    });
    expect(freeMemory(folder)).toEqual({ bytes: 1500 * KIB, of: "this container" });
  });

  it("is read from the first generation of groups too, whose paths may be those of the machine", async () => {
    const folder = tempFolder({
      ...MEMINFO,
      "proc/self/cgroup": "9:name=systemd:/\n4:memory:/docker/4f\n0::/\n",
      [`${V1}/memory.limit_in_bytes`]: `${100 * KIB}\n`,
      [`${V1}/memory.usage_in_bytes`]: `${150 * KIB}\n`,
      [`${V1}/memory.stat`]: `total_active_file 0\ntotal_inactive_file ${20 * KIB}\n`,
    });
    expect(freeMemory(folder)).toEqual({ bytes: 0, of: "this container" });
  });

  it.runIf(process.platform === "linux")("is that of this system unless another is given", () => {
    expect(freeMemory()?.bytes).toBeGreaterThan(0);
  });

  it("is not known where the system does not tell", async () => {
    expect(freeMemory(tempFolder())).toBeUndefined();
  });
});
