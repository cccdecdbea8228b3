import { lowerPriority } from "../threads/start-priority.ts";

const onStarted = lowerPriority();
const { runModelProcess } = await import("./run-model-process.ts");
await runModelProcess(process.argv.slice(2).map(Number), onStarted);
// Whatever timers the driver left; nothing native runs any more.
process.exit();
