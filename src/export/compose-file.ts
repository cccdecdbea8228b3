import { writeYaml } from "../codecs/config/write-yaml.ts";
import { graceSeconds, portsOf, USER_ID } from "./container.ts";
import { type Deployment, PACKAGE_CONTEXT } from "./deployment.ts";

/** The file with which Docker Compose builds and runs a deployment; `folder` has it, relative to the build's. */
export function composeFile(deployment: Deployment, folder: { readonly up: string; readonly down: string }): string {
  const service = {
    build: {
      context: folder.up,
      dockerfile: `${folder.down}/Dockerfile`,
      ...(deployment.program.isOutside && { additional_contexts: { [PACKAGE_CONTEXT]: "." } }),
    },
    image: deployment.image,
    ports: portsOf(deployment).map(({ port }) => `${port}:${port}`),
    user: `${USER_ID}:0`,
    read_only: true,
    tmpfs: ["/tmp"],
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    stop_grace_period: `${graceSeconds(deployment)}s`,
    restart: "unless-stopped",
  };
  return writeYaml({ services: { [deployment.name]: service } });
}
