// Takes the picture in the README: `npm run picture`. The sample vault, light, both languages.
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  ask,
  launchBrowser,
  makeWorld,
  openSidebar,
  root,
  sampleVault,
  servePages,
  startDaemon,
} from "./lib.mjs";

const QUERY = process.argv[2] ?? "积分饱和 integral windup";
const folder = join(root, "docs", "images");

const browser = await launchBrowser();
const pages = await servePages();
const world = await makeWorld();
await cp(sampleVault, world.vault, { recursive: true });
const daemon = await startDaemon(world, pages.origin);
try {
  await daemon.settled();
  const { page } = await openSidebar(browser, pages, world, { width: 380, data: { limit: 8 } });
  await page.waitForFunction(() => window.sidelight.service.ready);
  await page.setViewportSize({ width: 1120, height: 700 });
  await ask(page, QUERY);
  await page.locator(".sidelight-passage").first().click();
  await page.waitForFunction(() => window.app.workspace.recent?.view.editor.getSelection());
  await page.mouse.move(300, 600);
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, "sidebar.png") });
} finally {
  await daemon.stop();
  await browser.close();
  await pages.close();
  await world.close();
}
