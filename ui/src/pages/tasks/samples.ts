/** What stands in the editor until something else is written there. */
const SAMPLES: Readonly<Record<string, string>> = {
  python: 'import sys\n\nfor line in sys.stdin:\n    print("read:", line.strip())\nprint(sum(range(101)))\n',
  javascript: "const squares = [1, 2, 3].map((n) => n * n);\nconsole.log(squares);\n",
  typescript: "const squares: number[] = [1, 2, 3].map((n) => n * n);\nconsole.log(squares);\n",
  bash: 'for n in 1 2 3; do\n  echo "line $n"\ndone\n',
  c: '#include <stdio.h>\n\nint main(void) {\n    printf("%d\\n", 6 * 7);\n    return 0;\n}\n',
  cpp: "#include <iostream>\n\nint main() {\n    std::cout << 6 * 7 << std::endl;\n}\n",
  golang: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(6 * 7)\n}\n',
  java: "public class Main {\n    public static void main(String[] words) {\n        System.out.println(6 * 7);\n    }\n}\n",
  rust: 'fn main() {\n    println!("{}", 6 * 7);\n}\n',
  ruby: "puts (1..10).sum\n",
  php: "<?php\necho array_sum(range(1, 10)), PHP_EOL;\n",
  lua: "print(6 * 7)\n",
  perl: 'print 6 * 7, "\\n";\n',
};

export const sampleOf = (language: string): string => SAMPLES[language] ?? "";
