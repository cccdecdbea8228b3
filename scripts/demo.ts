import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { askOverGrpc, askOverHttp, type Timed } from "./demo-clients.ts";
import { type DemoPhoto, faceMismatch, loadDemoPhotos } from "./demo-photos.ts";
import { type DemoServer, startDemoServer } from "./demo-server.ts";
import { makeDemoModels } from "./make-demo-models.ts";

const HELP = `Serves a chain of two real models (faces, then the emotion of each) and asks it over gRPC and HTTP.

  npm run demo              shows what came back, then keeps serving until Ctrl-C
  npm run demo -- --once    shows what came back and ends; fails unless it is as expected`;

const { values: flags } = parseArgs({ options: { once: { type: "boolean" }, help: { type: "boolean" } } });
process.exitCode = flags.help ? showHelp() : await runDemo();

function showHelp(): number {
  console.log(HELP);
  return 0;
}

/** The process's exit code: 0 when every photo was answered as expected on both wires. */
async function runDemo(): Promise<number> {
  const models = await makeDemoModels();
  const server = await startDemoServer([
    ...["--driver", "onnx", "--model-path", models.blazeface],
    ...["--driver", "onnx", "--model-path", models.emotion],
    ...["--hooks", fileURLToPath(new URL("../examples/hooks/faces-to-emotions.ts", import.meta.url))],
  ]);
  try {
    const failures = await askAll(server, await loadDemoPhotos());
    console.log(failures === 0 ? "\nAll as expected." : `\n${failures} answers are not as expected.`);
    if (!flags.once) await serveOn(server);
    return failures === 0 ? 0 : 1;
  } finally {
    await server.close();
  }
}

/** Sends each photo over both wires and prints a row for it; gives the number of rows that are wrong. */
async function askAll(server: DemoServer, photos: readonly DemoPhoto[]): Promise<number> {
  const askGrpc = askOverGrpc(server.grpcAddress);
  const askHttp = askOverHttp(server.httpUrl);
  let failures = 0;
  printRow("photo", "faces", "emotions", "gRPC", "HTTP");
  for (const photo of photos) {
    const grpc = await askGrpc(photo.bytes);
    const http = await askHttp(photo.bytes);
    const wrong = faceMismatch(grpc.faces, photo.faces) ?? faceMismatch(http.faces, grpc.faces);
    if (wrong !== undefined) failures++;
    printRow(photo.name, String(grpc.faces.length), emotionsText(grpc), duration(grpc), duration(http), wrong);
  }
  await askGrpc.close();
  return failures;
}

function emotionsText({ faces }: Timed): string {
  return faces.length === 0
    ? "(no face, so the second model was skipped)"
    : faces.map((face) => face.emotion).join(", ");
}

function duration({ ms }: Timed): string {
  return `${ms.toFixed(0)} ms`;
}

function printRow(photo: string, faces: string, emotions: string, grpc: string, http: string, wrong = ""): void {
  const cells = [photo.padEnd(14), faces.padStart(5), emotions.padEnd(44), grpc.padStart(7), http.padStart(7), wrong];
  console.log(cells.join("  ").trimEnd());
}

async function serveOn(server: DemoServer): Promise<void> {
  console.log(`
Serving on gRPC ${server.grpcAddress} and ${server.httpUrl} until Ctrl-C. Try:

  curl ${server.httpUrl}/predict -F bytes_image=@examples/photos/portrait.jpg`);
  await server.ended();
}
