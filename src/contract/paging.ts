import { z } from "zod";
import { queryIntegerSchema } from "./wire-values.js";

/** The items of a page where the caller asks for no number. */
export const DEFAULT_PAGE = 50;
/** The most items of one page. */
const MAX_PAGE = 200;

/** `?limit=&cursor=` of a listing. */
export const pagingShape = {
  limit: queryIntegerSchema({
    min: 1,
    max: MAX_PAGE,
    description: `Items of one page, ${DEFAULT_PAGE} unless told.`,
  }).optional(),
  cursor: z
    .string()
    .regex(/^[\x21-\x7e]{1,512}$/, "must be the next_cursor of a page")
    .optional()
    .meta({ description: "The `next_cursor` of the page before." }),
};

/** Where the next page starts; null on the last. */
export const nextCursorSchema = z
  .string()
  .nullable()
  .meta({ description: "Pass as `cursor`; null on the last page." });
