import { describe, expect, it } from "vitest";
import { linkTo, readRoute } from "../../../console/src/shell/route.js";

const ID = "cmd_01jf0000000000000000000001";

describe("the console's address", () => {
  it("names a page and what it is about", () => {
    expect(readRoute(linkTo("commands", ID))).toEqual({ page: "commands", id: ID });
    expect(readRoute(linkTo("fleet"))).toEqual({ page: "fleet", id: null });
  });

  it.each(["", "#", "#/", "#/nowhere", "#/__proto__/x", "#javascript:alert(1)"])(
    "leads to the approvals where it is %j",
    (fragment) => expect(readRoute(fragment)).toEqual({ page: "approvals", id: null }),
  );

  it.each(["../../v1", "cmd_<img>", "cmd_1", `${ID}?x`, encodeURIComponent("a/b")])(
    "never carries %j into a path of the API",
    (id) => expect(readRoute(`#/commands/${id}`).id).toBeNull(),
  );
});
