import { useState } from "react";
import { navigate } from "../router";
import { useT } from "../words";
import { placeOf, SEARCH_MAX } from "./find";

/** Straight to the run that has this id; else to those that a search finds. */
export function Search() {
  const t = useT();
  const [words, setWords] = useState("");
  return (
    <form
      role="search"
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = words.trim();
        setWords("");
        if (text) void placeOf(text).then((place) => navigate(place));
      }}
    >
      <input
        type="search"
        aria-label={t("app.search")}
        placeholder={t("app.searchHint")}
        maxLength={SEARCH_MAX}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
    </form>
  );
}
