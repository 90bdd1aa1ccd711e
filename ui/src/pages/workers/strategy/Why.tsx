import { Dialog, Facts, Table, Time } from "../../../components";
import { useWords } from "../../../words";
import { words } from "../words";
import { KeyShown } from "./KeyShown";
import { reasonOf } from "./reasons";
import type { Choice } from "./types";

export interface WhyProps {
  readonly choice: Choice;
  readonly onClose: () => void;
}

/** Why a worker had a step: how it was ranked beside the others. */
export function Why({ choice, onClose }: WhyProps) {
  const t = useWords(words);
  const reason = reasonOf(choice);
  const followed = choice.followed ?? "";
  return (
    <Dialog open wide title={t("whyTitle", { step: choice.step, worker: choice.worker })} onClose={onClose}>
      <p>{t(reason.word, reason.values)}</p>
      <Facts
        facts={[
          [t("by"), `${choice.strategy} (${t(`source.${choice.source}`)})`],
          [t("followed"), choice.followed === choice.strategy ? t("sameOne") : followed || "–"],
          [t("among"), t("amongOf", { count: choice.count ?? 0, known: choice.known })],
          [t("at"), <Time at={choice.at} />],
        ]}
      />
      {choice.top.length > 0 ? (
        <Table
          label={t("among")}
          rows={choice.top}
          rowKey={(each) => each.worker}
          columns={[
            {
              key: "worker",
              head: t("name"),
              cell: (each) => (
                <>
                  {each.worker} {each.worker === choice.worker && <strong>({t("chosen")})</strong>}
                </>
              ),
            },
            {
              key: "key",
              head: t("key"),
              grow: true,
              cell: (each) => <KeyShown strategy={followed} parts={each.key} />,
            },
          ]}
        />
      ) : (
        choice.key.length > 0 && (
          <p>
            {t("key")}: <KeyShown strategy={followed} parts={choice.key} />
          </p>
        )
      )}
      {choice.key.length > 0 && <p className="soft small">{t("keyHint")}</p>}
    </Dialog>
  );
}
