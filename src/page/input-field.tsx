import type { PageTensor } from "../protocols/page/page-data.ts";
import { FileField } from "./file-field.tsx";
import type { InputState } from "./input-state.ts";

interface InputFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
}

/** The fields of one input: its values and its shape, or a file. */
export function InputField({ tensor, value, onChange }: InputFieldProps) {
  const { name, datatype, takesImages, isOptional } = tensor;
  const isText = datatype === "BYTES";
  return (
    <fieldset>
      <legend>
        {name} <span class="facts">{datatype || "any type"}</span>
      </legend>
      {isOptional && (
        <label class="check">
          <input
            type="checkbox"
            checked={value.isOmitted === true}
            onChange={(event) => onChange({ ...value, isOmitted: event.currentTarget.checked })}
          />
          leave it out: the model has a value of its own
        </label>
      )}
      {(takesImages || isText) && <FileField tensor={tensor} value={value} onChange={onChange} />}
      {value.file === undefined && value.isOmitted !== true && (
        <div class="values">
          <label>
            {isText ? "Text" : "Values"}
            <textarea
              rows={isText ? 2 : 3}
              spellcheck={false}
              value={value.values}
              onInput={(event) => onChange({ ...value, values: event.currentTarget.value })}
            />
          </label>
          <label class="shape">
            Shape
            <input value={value.shape} onInput={(event) => onChange({ ...value, shape: event.currentTarget.value })} />
          </label>
        </div>
      )}
    </fieldset>
  );
}
