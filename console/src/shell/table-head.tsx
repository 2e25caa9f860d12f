/** The names of a table's columns: those of words, then those of numbers, which stand at the right. */
export function TableHead(props: {
  readonly words: readonly string[];
  readonly numbers?: readonly string[];
}) {
  return (
    <thead>
      <tr>
        {props.words.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
        {props.numbers?.map((name) => (
          <th key={name} scope="col" class="number">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
