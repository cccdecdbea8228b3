import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type StartedCommand, startCommand } from "../test/helpers/start-command.ts";
import { type Answer, createGrpcClient, createHttpClient, type DemoClient } from "./demo-clients.ts";
import { type DemoPhoto, faceMismatch, loadDemoPhotos } from "./demo-photos.ts";
import { makeDemoModels } from "./make-demo-models.ts";

const HELP = `Serves a chain of two real models (faces, then the emotion of each) and asks it over gRPC and HTTP.

  npm run demo              shows what came back, then serves until Ctrl-C
  npm run demo -- --once    shows what came back and ends; fails unless all is as expected`;

const { values: flags } = parseArgs({ options: { once: { type: "boolean" }, help: { type: "boolean" } } });
if (flags.help) console.log(HELP);
else process.exitCode = await runDemo();

/** Gives the process's exit code: 0 when every photo was answered as expected on both wires. */
async function runDemo(): Promise<number> {
  const interrupted = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  console.log("Making the models and starting the server ...\n");
  const server = await startCommand([process.execPath, ...(await serverCommand())]);
  try {
    const failures = await askAll(server, await loadDemoPhotos());
    console.log(
      failures === 0 ? "\nAll as expected, on both wires." : `\nPhotos that are not as expected: ${failures}.`,
    );
    if (!flags.once) await serveUntil(interrupted, server);
    return failures === 0 ? 0 : 1;
  } finally {
    if (isRunning(server)) await server.stop();
  }
}

/** The command line that README shows, on free ports. */
async function serverCommand(): Promise<string[]> {
  const { blazeface, emotion } = await makeDemoModels();
  return [
    fromRoot("bin/kserving.cjs"),
    ...["--driver", "onnx", "--model-path", blazeface],
    ...["--driver", "onnx", "--model-path", emotion],
    ...["--hooks", fromRoot("examples/hooks/faces-to-emotions.ts")],
    ...["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ];
}

function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** Sends every photo over both wires and prints a row for each; gives the number of rows that are wrong. */
async function askAll(server: StartedCommand, photos: readonly DemoPhoto[]): Promise<number> {
  const grpc = createGrpcClient(server.grpc);
  const http = createHttpClient(server.http);
  let failures = 0;
  printRow(["photo", "faces", "emotions", "gRPC", "HTTP"]);
  for (const photo of photos) {
    const wrong = await askBoth(photo, grpc, http);
    if (wrong !== undefined) failures++;
  }
  await grpc.close();
  return failures;
}

/** Gives what is wrong, if anything is. */
async function askBoth(photo: DemoPhoto, grpc: DemoClient, http: DemoClient): Promise<string | undefined> {
  const overGrpc = await grpc.ask(photo.bytes);
  const overHttp = await http.ask(photo.bytes);
  const wrong = faceMismatch(overGrpc.faces, photo.faces) ?? faceMismatch(overHttp.faces, overGrpc.faces);
  const faces = String(overGrpc.faces.length);
  printRow([photo.name, faces, emotionsText(overGrpc), duration(overGrpc), duration(overHttp)], wrong);
  return wrong;
}

function emotionsText({ faces }: Answer): string {
  return faces.length === 0 ? "(second model skipped)" : faces.map(({ emotion }) => emotion).join(", ");
}

function duration({ ms }: Answer): string {
  return `${ms.toFixed(0)} ms`;
}

function printRow([photo = "", faces = "", emotions = "", grpc = "", http = ""]: string[], wrong = ""): void {
  const cells = [photo.padEnd(14), faces.padStart(5), emotions.padEnd(40), grpc.padStart(7), http.padStart(7), wrong];
  console.log(cells.join("  ").trimEnd());
}

async function serveUntil(interrupted: Promise<unknown>, server: StartedCommand): Promise<void> {
  console.log(`
Serving gRPC on ${server.grpc} and HTTP on ${server.http} until Ctrl-C. Try:

  curl ${server.http}/predict -F bytes_image=@examples/photos/portrait.jpg
`);
  const exited = once(server.child, "exit");
  await Promise.race([interrupted, exited]);
  // A terminal's Ctrl-C reaches the server by itself, and a second signal would cut it
  // off; a signal to this process alone does not reach it.
  const nudge = setTimeout(() => server.child.kill("SIGINT"), 1000);
  await exited;
  clearTimeout(nudge);
}

function isRunning({ child }: StartedCommand): boolean {
  return child.exitCode === null && child.signalCode === null;
}
