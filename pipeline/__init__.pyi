from pipeline.api import Coordinated as Coordinated
from pipeline.api import Coordination as Coordination
from pipeline.api import Generated as Generated
from pipeline.api import Predicted as Predicted
from pipeline.api import Predictor as Predictor
from pipeline.api import Skipped as Skipped
from pipeline.api import fill as fill
from pipeline.api import generate as generate

__version__: str
