import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { Asking } from "../../bench/soak/asking.ts";
import { SoakRun } from "../../bench/soak/soak-run.ts";
import { StartedNumbers } from "../../bench/soak/started-numbers.ts";
import { startCommand } from "../helpers/start-command.ts";

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const KILLS = 20;
/** Right answers between two kills, at most. */
const MOST_BETWEEN = 100;
/** Right answers that the threads, old and new, give before and after. */
const MANY = 1000;

async function startSoak() {
  const started = new StartedNumbers();
  const server = await startCommand([
    ...[process.execPath, fromRoot("bin/kserving.cjs"), "--host", "127.0.0.1", "--port", "0"],
    ...["--http-enable", "--http-port", "0", "--workers", "3", "--threads", "1"],
    // One client that ends so many threads would have to wait.
    ...["--poison-requests", "0"],
    ...["--model-path", fromRoot("test/fixtures/models/half-plus-two.onnx"), "--driver", "onnx"],
    ...["--model-path", "none", "--driver", fromRoot("bench/echo-driver.ts")],
    ...["--hooks", fromRoot("bench/soak-hooks.ts"), "-o", `soak_folder=${started.folder}`],
  ]);
  const asking = new Asking(server.grpc, server.http);
  onTestFinished(async () => {
    asking.close();
    started.delete();
    server.child.kill("SIGKILL");
    if (server.child.exitCode === null) await once(server.child, "exit");
  });
  return { server, soaking: new SoakRun(asking, started) };
}

test("hook threads that die at random under load take only their own requests along, and requests go on", async () => {
  const { server, soaking } = await startSoak();
  await soaking.rightAnswers(MANY);
  expect(soaking.report()).toMatchObject({ wrong: 0, crossTalk: 0, failures: {} });

  for (let kill = 0; kill < KILLS; kill++) {
    soaking.kill(1);
    await soaking.rightAnswers(Math.ceil(Math.random() * MOST_BETWEEN));
  }
  expect(soaking.report()).toMatchObject({ wrong: 0, crossTalk: 0, unexplained: 0, kills: KILLS });
  await soaking.rightAnswers(MANY);
  expect(soaking.report()).toMatchObject({ wrong: 0, crossTalk: 0, unexplained: 0 });

  await soaking.finish();
  await server.stop();
});
