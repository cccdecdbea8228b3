/** `npm run bench -- NAME`: runs one benchmark, which prints a table of ratios within one run. */
const BENCHMARKS: Readonly<Record<string, { readonly what: string; readonly run: () => Promise<void> }>> = {
  smoke: {
    what: "tiny and 602 KB echo over gRPC and HTTP, beside bare grpc-js and node:http servers",
    run: async () => (await import("./smoke.ts")).runSmoke(),
  },
};

const [name = ""] = process.argv.slice(2);
const benchmark = Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
if (benchmark === undefined) {
  console.error(`There is no benchmark "${name}"; expected one of:`);
  for (const [known, { what }] of Object.entries(BENCHMARKS)) console.error(`  ${known}  ${what}`);
  process.exitCode = 2;
} else {
  await benchmark.run();
}
