import { useId } from "react";

interface RadiosProps<K extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [K, string])[];
  readonly chosen: K;
  readonly onChoose: (key: K) => void;
}

/** One of a few. */
export function Radios<K extends string>({ legend, options, chosen, onChoose }: RadiosProps<K>) {
  const name = useId();
  return (
    <fieldset className="radios">
      <legend>{legend}</legend>
      {options.map(([key, label]) => (
        <label key={key}>
          <input type="radio" name={name} checked={key === chosen} onChange={() => onChoose(key)} /> {label}
        </label>
      ))}
    </fieldset>
  );
}
