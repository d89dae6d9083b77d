/** Creates elements. All text is inserted as text, so no string in a report is parsed as markup. */

type Attributes = Readonly<Record<string, string>>;

/** Returns an element with attributes and children. Children that are strings become text. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Maximum length of a short text, in characters. */
const LONG = 18;

/** Returns a table in a box that can be scrolled, also with the keyboard. */
export function table(label: string, head: string[], left: boolean[], rows: string[][]): HTMLElement {
  // A long text is broken into lines, so its column needs a minimum width.
  const isLong = (column: number) => rows.some((row) => (row[column] ?? "").length > LONG);
  const kinds = left.map((isText, column): Attributes => (isText ? { class: isLong(column) ? "text long" : "text" } : {}));
  const kind = (column: number): Attributes => kinds[column] ?? {};
  const body = el("tbody");
  for (const row of rows) {
    const cells = row.map((text, column) => {
      if (column > 0) return el("td", kind(column), text);
      return el("th", { scope: "row" }, text);
    });
    body.append(el("tr", {}, ...cells));
  }
  const whole = el("table", {}, body);
  if (head.length > 0) {
    const cells = head.map((text, column) => (text ? el("th", { scope: "col", ...kind(column) }, text) : el("td")));
    whole.prepend(el("thead", {}, el("tr", {}, ...cells)));
  }
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, whole);
}

/** Converts a text so that it can be part of an element's ID. */
export function slug(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}
