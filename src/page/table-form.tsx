import { useId, useRef, useState } from "preact/hooks";
import type { PageColumn, PageTable } from "../protocols/page/page-data.ts";
import { firstRow, mayMiss, rangeOfCategories, readRows, type WrittenRow } from "./table-values.ts";

interface TableFormProps {
  readonly table: PageTable;
  readonly rows: readonly WrittenRow[];
  readonly onChange: (rows: readonly WrittenRow[]) => void;
}

/** Rows that have fields; all are sent. */
const MAX_SHOWN = 20;

/** A field for each column of each row. */
export function TableForm({ table, rows, onChange }: TableFormProps) {
  const adder = useRef<HTMLButtonElement>(null);
  const shown = rows.slice(0, MAX_SHOWN);
  const remove = (at: number) => {
    onChange(rows.toSpliced(at, 1));
    // The button that had the focus is gone.
    adder.current?.focus();
  };
  return (
    <>
      {shown.map((row, at) => (
        <fieldset key={at}>
          <legend>Row {at + 1}</legend>
          <div class="cells">
            {table.columns.map((column, index) => (
              <Cell
                key={index}
                column={column}
                text={row[index] ?? ""}
                onText={(text) => onChange(rows.with(at, row.with(index, text)))}
              />
            ))}
          </div>
          {rows.length > 1 && (
            <button type="button" aria-label={`Remove row ${at + 1}`} onClick={() => remove(at)}>
              Remove
            </button>
          )}
        </fieldset>
      ))}
      {rows.length > MAX_SHOWN && <p class="facts">{`${rows.length - MAX_SHOWN} more rows go with the request.`}</p>}
      <div class="buttons">
        <button
          ref={adder}
          type="button"
          onClick={() => onChange([...rows, rows.at(-1) ?? firstRow(table.columns, [])])}
        >
          Add a row
        </button>
        {rows.length > MAX_SHOWN && (
          <button type="button" onClick={() => onChange(rows.slice(0, 1))}>
            Keep the first row alone
          </button>
        )}
        <span class="facts">An empty field is a missing value.</span>
      </div>
      <PastedRows table={table} onRows={onChange} />
    </>
  );
}

interface CellProps {
  readonly column: PageColumn;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** The field of a value: a choice of those that the model knows, a number with a slider, a number, or a text. */
function Cell({ column, text, onText }: CellProps) {
  const { name, datatype, categories } = column;
  const id = useId();
  const range = rangeOfCategories(column);
  const choices = datatype === "BOOL" ? ["true", "false"] : range === undefined ? categories?.map(String) : undefined;
  const take = (event: { readonly currentTarget: { readonly value: string } }) => onText(event.currentTarget.value);
  return (
    <div class="cell">
      <label for={id}>
        {name} <span class="facts">{datatype}</span>
      </label>
      {choices !== undefined && <Choice id={id} column={column} choices={choices} text={text} onText={onText} />}
      {choices === undefined && datatype === "BYTES" && <textarea id={id} rows={1} value={text} onInput={take} />}
      {choices === undefined && datatype !== "BYTES" && (
        <input id={id} inputMode="decimal" autocomplete="off" value={text} onInput={take} />
      )}
      {range !== undefined && (
        <input
          type="range"
          aria-label={`${name}, as a slider`}
          aria-valuetext={text === "" ? "missing" : text}
          min={range[0]}
          max={range[1]}
          value={text === "" ? range[0] : text}
          onInput={take}
        />
      )}
    </div>
  );
}

interface ChoiceProps extends CellProps {
  readonly id: string;
  readonly choices: readonly string[];
}

function Choice({ id, column: { datatype }, choices, text, onText }: ChoiceProps) {
  const canMiss = datatype === "BYTES" || mayMiss(datatype);
  const others = text === "" || choices.includes(text) ? [] : [text];
  return (
    <select id={id} value={text} onChange={(event) => onText(event.currentTarget.value)}>
      {(canMiss || text === "") && <option value="">(missing)</option>}
      {[...choices, ...others].map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

interface PastedRowsProps {
  readonly table: PageTable;
  readonly onRows: (rows: readonly WrittenRow[]) => void;
}

/** A place for rows of CSV, or of a spreadsheet. */
function PastedRows({ table, onRows }: PastedRowsProps) {
  const [text, setText] = useState("");
  const [told, setTold] = useState({ text: "", isBad: false });
  const names = table.columns.map(({ name }) => name);
  const use = () => {
    try {
      const { rows, unknown } = readRows(text, table);
      onRows(rows);
      const without =
        unknown.length === 0 ? "" : `, without ${unknown.map((name) => name || "a column without a name").join(", ")}`;
      setTold({
        text: `${rows.length === 1 ? "1 row is" : `${rows.length} rows are`} in the form${without}.`,
        isBad: false,
      });
    } catch (reason) {
      setTold({ text: reason instanceof Error ? reason.message : String(reason), isBad: true });
    }
  };
  return (
    <details>
      <summary>Paste rows</summary>
      <label>
        Rows of CSV or of a spreadsheet, below a line of names or in the order of the columns
        <textarea
          rows={5}
          spellcheck={false}
          placeholder={`${names.join(",")}\n…`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="button" onClick={use}>
        Use these rows
      </button>
      <p class={told.isBad ? "notice bad" : "facts"} role="status">
        {told.text}
      </p>
    </details>
  );
}
