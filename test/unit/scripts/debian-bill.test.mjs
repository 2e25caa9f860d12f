import { expect, test } from "vitest";
import { debianBill } from "../../../scripts/release/debian-bill.mjs";

test("a list of Debian packages becomes components by name, each with its package URL", () => {
  const bill = debianBill("libc6\t2.36-9+deb12u14\tamd64\nbase\t1:2\tall\n", {
    image: "bailiff",
    version: "1.2.3",
    digest: "sha256:ab",
  });
  expect(bill.metadata.component).toMatchObject({ name: "bailiff", hashes: [{ content: "ab" }] });
  expect(bill.components.map(({ purl }) => purl)).toEqual([
    "pkg:deb/debian/base@1%3A2?arch=all",
    "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64",
  ]);
});
