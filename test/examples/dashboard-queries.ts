import { readFileSync } from "node:fs";

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

/** The queries of the panels, with Grafana's variables as they are there. */
export function readDashboardQueries(): string[] {
  const file = new URL("../../examples/monitoring/dashboard.json", import.meta.url);
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as Dashboard;
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}
