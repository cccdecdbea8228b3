import { expect, test } from "vitest";
import { toRuntimesTable } from "../../src/runtimes/runtimes-table.ts";

test("has a row for each place, a star before what is used, and what to run for the rest", () => {
  const table = toRuntimesTable([
    {
      name: "toy",
      title: "Toy",
      found: [
        {
          source: "the runtimes folder",
          path: "/r/libtoy.so",
          version: "1.2.3",
          devices: ["CPU", "GPU:0"],
          isUsed: true,
        },
        { source: "VIRTUAL_ENV", path: "/v/libtoy.so", problem: "it is a text", isUsed: false },
      ],
    },
    { name: "other", title: "Other", found: [], install: "kserving runtimes install other" },
  ]);
  expect(table).toBe(
    [
      "   Runtime  Version  Devices     Found in",
      "*  toy      1.2.3    CPU, GPU:0  the runtimes folder: /r/libtoy.so",
      "   toy      -        -           VIRTUAL_ENV: /v/libtoy.so (it is a text)",
      "   other    -        -           nowhere",
      "",
      "What is missing:",
      "  Other: kserving runtimes install other",
    ].join("\n"),
  );
});
