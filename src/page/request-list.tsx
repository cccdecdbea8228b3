import type { RecentRequest } from "../observability/live/recent-request.ts";
import { usePolled } from "./use-polled.ts";

/** The last requests, each with the time of its parts. */
export function RequestList() {
  const { value } = usePolled<{ readonly requests: readonly RecentRequest[] }>("ui/requests", 2000);
  const requests = value?.requests;
  return (
    <section aria-labelledby="requests">
      <h3 id="requests">Last requests</h3>
      <p class="facts">Requests to models are kept while this page is open, 100 at most.</p>
      {requests?.length === 0 && <p>There was none since this part of the page was opened.</p>}
      {requests?.map((request) => (
        <details key={`${request.id} ${request.at}`} class="request">
          <summary>
            <span class={/^(?:ok|[23]\d\d)$/.test(request.status) ? "good" : "bad"}>{request.status}</span>{" "}
            {request.model} version {request.version}, {request.totalMs.toFixed(1)} ms{" "}
            <span class="facts">
              {request.route}, {new Date(request.at).toLocaleTimeString()}
            </span>
          </summary>
          <Waterfall request={request} />
        </details>
      ))}
    </section>
  );
}

/** The parts of a request, each as a bar from its start to its end. */
function Waterfall({ request: { parts, totalMs } }: { readonly request: RecentRequest }) {
  const scale = 100 / Math.max(totalMs, 0.001);
  return (
    <table class="bars">
      <caption>Parts of the request, in milliseconds since its start</caption>
      <tbody>
        {parts.map(({ name, start, end }, index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td class="bar">
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect x={start * scale} width={Math.max((end - start) * scale, 0.5)} height="8" />
              </svg>
            </td>
            <td class="score">
              {start.toFixed(2)} – {end.toFixed(2)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
