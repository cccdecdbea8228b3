import { describe, expect, it } from "vitest";
import { containerMemory, containerProcessors } from "../../../src/platform/machine/container.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const MEMINFO = { "proc/meminfo": "MemTotal:       9000 kB\n" };
const GROUPS_1 = "9:name=systemd:/\n4:memory:/docker/4f\n2:cpu,cpuacct:/docker/4f\n0::/\n";

describe("the memory of a container", () => {
  it("is the least limit of its group and those around it (version 2)", () => {
    const root = tempFolder({
      ...MEMINFO,
      "proc/self/cgroup": "0::/kube/pod/main\n",
      "sys/fs/cgroup/kube/pod/main/memory.max": "max\n",
      "sys/fs/cgroup/kube/pod/memory.max": "4096000\n",
      "sys/fs/cgroup/kube/memory.max": "8192000\n",
    });
    expect(containerMemory(root)).toBe(4096000);
  });

  it("is that of the container's own view, whatever path its group has on the machine (version 1)", () => {
    const limit = { "sys/fs/cgroup/memory/memory.limit_in_bytes": "2048000\n" };
    expect(containerMemory(tempFolder({ ...MEMINFO, "proc/self/cgroup": GROUPS_1, ...limit }))).toBe(2048000);
  });

  it.each([
    ["max\n", "0::/\n", "memory.max"],
    ["9223372036854771712\n", GROUPS_1, "memory/memory.limit_in_bytes"],
    ["9216000\n", "0::/\n", "memory.max"],
  ])("has no limit that counts where its file says %j", (text, groups, file) => {
    const root = tempFolder({ ...MEMINFO, "proc/self/cgroup": groups, [`sys/fs/cgroup/${file}`]: text });
    expect(containerMemory(root)).toBeUndefined();
  });

  it("has no limit where the system tells of none", () => {
    expect(containerMemory(tempFolder())).toBeUndefined();
  });
});

describe("the processors of a container", () => {
  it.each([
    ["200000 100000\n", 2],
    ["350000 100000\n", 3],
    ["20000 100000\n", 1],
    ["max 100000\n", undefined],
    ["", undefined],
    ["0 0\n", undefined],
  ])("are whole ones of cpu.max %j (version 2)", (text, expected) => {
    const root = tempFolder({ "proc/self/cgroup": "0::/pod\n", "sys/fs/cgroup/pod/cpu.max": text });
    expect(containerProcessors(root)).toBe(expected);
  });

  it.each([
    ["400000", 4],
    ["-1", undefined],
  ])("are whole ones of a quota of %s in 0.1 s (version 1)", (quota, expected) => {
    const folder = "sys/fs/cgroup/cpu,cpuacct";
    const root = tempFolder({
      "proc/self/cgroup": GROUPS_1,
      [`${folder}/cpu.cfs_quota_us`]: `${quota}\n`,
      [`${folder}/cpu.cfs_period_us`]: "100000\n",
    });
    expect(containerProcessors(root)).toBe(expected);
  });

  it("are those of the group with the fewest", () => {
    const root = tempFolder({
      "proc/self/cgroup": "0::/pod/main\n",
      "sys/fs/cgroup/pod/cpu.max": "300000 100000\n",
      "sys/fs/cgroup/pod/main/cpu.max": "800000 100000\n",
    });
    expect(containerProcessors(root)).toBe(3);
  });
});
