import { elementText } from "./element-text.ts";
import type { TopClass } from "./top-classes.ts";

/** The best classes of each row, with bars. */
export function TopBars({ name, rows }: { readonly name: string; readonly rows: readonly (readonly TopClass[])[] }) {
  return (
    <>
      {rows.map((row, index) => (
        <table class="bars" key={index}>
          <caption>
            {name}
            {rows.length > 1 && `, row ${index}`}: the highest scores
          </caption>
          <tbody>
            {row.map(({ index: place, label, score, part }) => (
              <tr key={place}>
                <th scope="row">{label ?? `class ${place}`}</th>
                <td class="bar">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect width={100 * part} height="8" rx="1" />
                  </svg>
                </td>
                <td class="score">{elementText(score)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </>
  );
}
