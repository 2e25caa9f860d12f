/** Every item of a listing, page after page, asked for as they are consumed. */
export async function* itemsOf<P extends { readonly next_cursor: string | null }, T>(
  pageAt: (cursor: string | undefined) => Promise<P>,
  itemsIn: (page: P) => readonly T[],
  first: string | undefined,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | null | undefined = first;
  do {
    const page: P = await pageAt(cursor ?? undefined);
    yield* itemsIn(page);
    cursor = page.next_cursor;
  } while (cursor !== null);
}
