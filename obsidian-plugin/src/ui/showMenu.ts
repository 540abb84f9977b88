// Where a menu opens: at the mouse, or below what the keyboard is on.
import type { Menu } from "obsidian";

/** Shows a menu; a click that a key made says nothing of a place. */
export function showMenuAt(menu: Menu, at: MouseEvent | HTMLElement): void {
  // Not `instanceof`: each window has classes of its own.
  const isElement = "getBoundingClientRect" in at;
  if (!isElement && (at.type === "contextmenu" || at.detail > 0))
    return void menu.showAtMouseEvent(at);
  const el = isElement ? at : (at.currentTarget as HTMLElement);
  const box = el.getBoundingClientRect();
  menu.showAtPosition({ x: box.left, y: box.bottom }, el.ownerDocument);
}
