"""The documentation as a site: `make docs` builds it in `build/site`.

The sources are the Markdown files of the repository where they lie, so that links between them lead to the same pages
here as anywhere else. Nothing of the site is loaded from another host.
"""

import yahtzee_cluster

project = "yahtzee_cluster"
author = "The yahtzee_cluster authors"
version = release = yahtzee_cluster.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "jobs/README.md", "slurm/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".*", "build", "runs", "docs/README.md"]  # docs/index.md includes the last one
myst_heading_anchors = 4

smartquotes = False
default_role = "code"  # `name` in a docstring
autodoc_member_order = "bysource"
maximum_signature_line_length = 120
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "yahtzee_cluster"
html_extra_path = ["site"]  # index.html, which leads to the root document
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
