/** What a box shows. */
export interface Face {
  readonly step: string | null; // its id; null: it is a group
  readonly name: string;
  readonly title: string; // when it is pointed at
  readonly detail: string;
  readonly status: string | null; // null: its state is nothing that is told here
  readonly tone: string; // a tone of theme.css
  readonly undo: boolean; // it takes back what another step did
  readonly share: number | null; // how much of it is done, 0 to 1
}

export function sameFace(one: Face, other: Face): boolean {
  return (
    one.step === other.step &&
    one.name === other.name &&
    one.title === other.title &&
    one.detail === other.detail &&
    one.status === other.status &&
    one.tone === other.tone &&
    one.undo === other.undo &&
    one.share === other.share
  );
}
